"""The demo: an order whose host is killed in the middle of a charge. The application is in `order.py`.

looms --store STORE --app looms.demo:modules show order-1001
"""

from looms.demo.order import modules

__all__ = ["modules"]
