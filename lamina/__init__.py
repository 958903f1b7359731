"""lamina compiles array programs: the NumPy function you have, traced to a scoped expression graph, and run.

>>> import numpy as np, lamina
>>> @lamina.defn
... def norm(x):
...     return np.sqrt((x * x).sum())
>>> norm(np.array([3.0, 4.0]))
np.float64(5.0)
"""

from lamina import dtype, errors, expr, layout, tree
from lamina.dtype import *
from lamina.array import Array
from lamina.layout import Layout
from lamina.api.creation import *
from lamina.api.datatypes import *
from lamina.api.elementwise import *
from lamina.api.indexing import *
from lamina.api.inspection import *
from lamina.api.linalg import *
from lamina.api.manipulation import *
from lamina.api.searching import *
from lamina.api.sets import *
from lamina.api.sorting import *
from lamina.api.statistical import *
from lamina.api.utility import *
from lamina import linalg
from lamina.trace.staging import Spec
from lamina.trace.control import block, check, cond, fori_loop, fun, hook, metadata, runtime_call, while_loop
from lamina.defn import defn, trace
import lamina.numpy_protocol
from lamina.trace import assign
