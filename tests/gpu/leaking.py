"""A training of PyTorch that leaks: each step keeps what its losses were computed from, until a limit refuses.

Usage: leaking.py STEPS [SECONDS-OF-EACH]
"""

import sys
import time

import torch

history = []


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(2048, 2048) for _ in range(4)))

    def forward(self, data):
        return self.layers(data)


def load_weights():
    return Net().cuda()


def remember(loss, kept):
    history.append((loss, kept))


def step(net, optimizer):
    data = torch.randn(8192, 2048, device="cuda")
    kept = net(data)
    loss = kept.square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    remember(loss, kept)


def main():
    net = load_weights()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for number in range(int(sys.argv[1])):
        step(net, optimizer)
        print("step", number, "PyTorch has", torch.cuda.memory_reserved() >> 20, "MiB", flush=True)
        time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)


if __name__ == "__main__":
    main()
