//@ -- The order in which blocks (clusters) take the tiles of D. A cluster covers cluster_m x cluster_n tiles.
//@ param tile table
//@ param extent table
//@ param cluster_m int
//@ param cluster_n int
//@ param order text
//@ param group int
//@ local span_m, span_n = tile.m * cluster_m, tile.n * cluster_n
//@ local blocks = cluster_m * cluster_n
struct tile_schedule {
    int across_m, across_n; // clusters of tiles along m and n
    int next, step, count;
    u32 rank;               // of this block in its cluster
};

__device__ __forceinline__ tile_schedule schedule_begin(const arguments &args)
{
    tile_schedule s;
    s.across_m = (int)((${extent.m} + ${span_m} - 1) / ${span_m});
    s.across_n = (int)((${extent.n} + ${span_n} - 1) / ${span_n});
    s.count = s.across_m * s.across_n;
//@ if blocks > 1 then
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(s.rank));
    s.next = (int)(blockIdx.x / ${blocks});
    s.step = (int)(gridDim.x / ${blocks});
//@ else
    s.rank = 0;
    s.next = (int)blockIdx.x;
    s.step = (int)gridDim.x;
//@ end
    return s;
}

// The next tile of this block: false when there is none. m and n are its first row and column.
//@ op turns
__device__ __forceinline__ bool schedule_next(tile_schedule &s, int &m, int &n)
{
    if (s.next >= s.count)
        return false;
//@ if order == "grouped" then
    int band = s.next / (${group} * s.across_n);
    int height = min(${group}, s.across_m - band * ${group});
    int within = s.next - band * ${group} * s.across_n;
    int at_m = band * ${group} + within % height;
    int at_n = within / height;
//@ elseif order == "row" then
    int at_m = s.next / s.across_n;
    int at_n = s.next % s.across_n;
//@ else
    int at_m = s.next % s.across_m;
    int at_n = s.next / s.across_m;
//@ end
    s.next += s.step;
//@ if blocks > 1 then
    m = (at_m * ${cluster_m} + (int)(s.rank % ${cluster_m})) * ${tile.m};
    n = (at_n * ${cluster_n} + (int)(s.rank / ${cluster_m})) * ${tile.n};
//@ else
    m = at_m * ${tile.m};
    n = at_n * ${tile.n};
//@ end
    return true;
}
