package nccl

import "github.com/kirchhoff-lsm/lsm/internal/device/gpu"

func (g *Group) window(b *gpu.Buf) int { return 0 }
