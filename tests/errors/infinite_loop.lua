local M, N, K = dims "M N K"
while M do
end
