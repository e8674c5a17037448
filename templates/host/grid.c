//@ -- The blocks n of a launch, along x, y and z, into its grid; an extent of 0 anywhere stores zeros. Behind them
//@ -- items that blocks count and lists of turns, or 0.
//@ param host table
//@ param grid text
//@ local T = host.types
const int nothing = n[0] <= 0 || n[1] <= 0 || n[2] <= 0;
//@ if host.part.lists then
if ((uint64_t)n[4] > 2147483647)
    return REFUSE("the sizes ask for %lld lists of turns, and a grid has 2147483647 blocks at most", (long long)n[4]);
//@ end
//@ if host.part.counted then
if (n[3] > 2147483647)
    return REFUSE("the sizes ask for %lld tiles, and blocks count up to 2147483647 of them; split the work",
                  (long long)n[3]);
//@ end
if (n[0] > 2147483647 || n[1] > 65535 || n[2] > 65535)
    return REFUSE("the sizes ask for a grid of %lld x %lld x %lld blocks, more than 2147483647 x 65535 x 65535; "
                  "split the work", (long long)n[0], (long long)n[1], (long long)n[2]);
${grid}[0] = nothing ? 0 : (uint32_t)n[0];
${grid}[1] = nothing ? 0 : (uint32_t)n[1];
${grid}[2] = nothing ? 0 : (uint32_t)n[2];
return ${T}_OK;
