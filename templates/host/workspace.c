//@ -- How much memory a launch wants beside its tensors.
//@ param host table
//@ local NAME, T = host.name, host.types
int ${NAME}_workspace(const struct ${NAME} *kernel, const struct ${NAME}_args *args, uint64_t *bytes, struct ${T}_error *error)
{
    int status = check_arguments(args, error);
//@ local by_grid = false
//@ for _, i in ipairs(host.image) do by_grid = by_grid or i.workspace_by_grid end
//@ if not by_grid then
    (void)kernel;
//@ end
//@ if host.workspace == 0 then
    *bytes = 0;
//@ else
    *bytes = status ? 0 : ${host.workspace};
//@ end
//@ local several = {}
//@ for _, i in ipairs(host.image) do
//@     if has(i, "workspace") and not has(several, i.workspace) then
//@         several[#several + 1], several[i.workspace] = i.workspace, true
//@     end
//@ end
//@ if #several > 0 then
    if (!status) {
        int64_t most = 0, wanted; /* of any architecture */
//@     if by_grid then
        int64_t sm_count = 0; /* as the largest grid has it */
        int v;
        for (v = 0; v < ${host.variants}; v++)
            sm_count = kernel->slot[v].resident > sm_count ? kernel->slot[v].resident : sm_count;
//@     end
//@     for _, formula in ipairs(several) do
        wanted = ${formula};
        most = wanted > most ? wanted : most;
//@     end
        *bytes += (uint64_t)most;
    }
//@ end
    return status;
}
