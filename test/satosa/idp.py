"""A SAML identity provider for run.ts. It believes everybody who types a name.

Arguments: the port, its address in metadata, the address of SATOSA's metadata, a key, a certificate, and the attributes of
its people as JSON.
"""

import html
import json
import sys
from functools import cache
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

from saml2 import BINDING_HTTP_POST, BINDING_HTTP_REDIRECT
from saml2.authn_context import PASSWORDPROTECTEDTRANSPORT
from saml2.config import IdPConfig
from saml2.metadata import create_metadata_string
from saml2.server import Server

port, base, proxy_metadata, key_file, cert_file, people_json = sys.argv[1:]
people = json.loads(people_json)


def config(metadata):
    return IdPConfig().load(
        {
            "entityid": f"{base}/metadata",
            "key_file": key_file,
            "cert_file": cert_file,
            "metadata": metadata,
            "service": {
                "idp": {
                    "endpoints": {"single_sign_on_service": [(f"{base}/sso", BINDING_HTTP_REDIRECT)]},
                    "want_authn_requests_signed": True,
                }
            },
        }
    )


@cache
def idp():
    """Made at the first sign-in, because SATOSA starts later."""
    return Server(config=config({"remote": [{"url": proxy_metadata}]}))


def answer(query, username):
    """The page that sends the assertion to SATOSA."""
    fields = dict(parse_qsl(query))
    request = idp().parse_authn_request(
        fields["SAMLRequest"],
        BINDING_HTTP_REDIRECT,
        relay_state=fields.get("RelayState"),
        sigalg=fields.get("SigAlg"),
        signature=fields.get("Signature"),
    ).message
    if request.force_authn != "true":
        raise ValueError("somebody else may be signed in here")
    where = idp().response_args(request)
    response = idp().create_authn_response(
        people[username],
        userid=username,
        authn={"class_ref": PASSWORDPROTECTEDTRANSPORT, "authn_auth": base},
        sign_assertion=True,
        encrypt_assertion=True,
        **where,
    )
    return idp().apply_binding(
        BINDING_HTTP_POST, str(response), where["destination"], fields["RelayState"], response=True
    )["data"]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if urlsplit(self.path).path == "/metadata":
            self.reply("application/samlmetadata+xml", create_metadata_string(None, config({})).decode())
        else:
            action = html.escape(self.path)
            self.reply("text/html", f'<form method="post" action="{action}"><input name="username"></form>')

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.reply("text/html", answer(urlsplit(self.path).query, dict(parse_qsl(body))["username"]))

    def reply(self, kind, text):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())


HTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
