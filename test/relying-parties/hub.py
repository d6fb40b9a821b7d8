"""Added to the settings in docs/applications.md: JupyterHub without the proxy in front of it, which is a program of its own."""
import os

from jupyterhub.proxy import Proxy


class NoProxy(Proxy):
    should_start = False

    async def add_route(self, routespec, target, data):
        pass

    async def delete_route(self, routespec):
        pass

    async def get_all_routes(self):
        return {}


home = os.environ['HOME_URL']
c.JupyterHub.proxy_class = NoProxy
c.JupyterHub.bind_url = home
c.JupyterHub.hub_bind_url = home
c.JupyterHub.db_url = 'sqlite://'
