"""The networks that a grid may name. Adding one: a file of its own here, and its class in the line below."""

from trainables.networks.base import Network, all_networks, network_class, network_names, register
from trainables.networks.conv import Conv
from trainables.networks.mlp import MLP
from trainables.networks.residual import Residual
from trainables.networks.sampled import CNN, Erf2, Erf3, Linear2, Relu2, Sampled
from trainables.networks.transformer import Transformer
from trainables.networks.two_layer import TwoLayer

for _network in (TwoLayer, MLP, Residual, Conv, Transformer, Erf2, Relu2, Linear2, Erf3, CNN):
    register(_network)

__all__ = [
    "MLP", "Conv", "Network", "Sampled", "Transformer", "TwoLayer", "all_networks", "network_class", "network_names", "register",
]  # fmt: skip
