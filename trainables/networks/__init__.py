"""The networks that a grid may name. A new one is a file of its own here. It is imported below, put into the list that registers
it, and into `__all__` if others import it from here. Where several networks would do, the first in the list counts.
"""

from trainables.networks.base import Network, all_networks, network_class, network_names, register
from trainables.networks.committee import Committee
from trainables.networks.conv import Conv
from trainables.networks.linear_one import LinearOne
from trainables.networks.mlp import MLP
from trainables.networks.residual import Residual
from trainables.networks.sampled import CNN, Attention, Erf2, Erf3, Linear2, Relu2, Sampled
from trainables.networks.solved.erf_kernel import ErfKernel
from trainables.networks.solved.kernels import Features, Kernel, LastLayer
from trainables.networks.solved.linear_attention import LinearAttention
from trainables.networks.solved.linear_ridge import LinearRegression, RandomFeatures
from trainables.networks.solved.tangent import Tangent, TangentKernel
from trainables.networks.sphere import Sphere
from trainables.networks.strings.gpt2 import GPT2
from trainables.networks.strings.lstm import LSTM
from trainables.networks.strings.one_hot import OneHot
from trainables.networks.strings.rnn import RNN
from trainables.networks.strings.transformer import Transformer
from trainables.networks.two_layer import TwoLayer

for _network in (
    TwoLayer, MLP, Residual, Conv, Transformer, OneHot, RNN, LSTM, Erf2, Relu2, Linear2, Erf3, CNN, Kernel, Features,
    GPT2, LinearOne, LinearRegression, RandomFeatures, ErfKernel, Sphere, Committee, Attention,
    Tangent, TangentKernel, LinearAttention,
):  # fmt: skip
    register(_network)

__all__ = [
    "GPT2", "LSTM", "MLP", "RNN", "Committee", "Conv", "LastLayer", "Network", "OneHot", "Sampled", "Transformer", "TwoLayer",
    "all_networks", "network_class", "network_names", "register",
]  # fmt: skip
