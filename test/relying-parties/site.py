"""A Django site with the settings of docs/applications.md, and nothing else."""
import os
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse
from django.urls import include, path

import chiron_settings

settings.configure(
    DEBUG=True,
    ALLOWED_HOSTS=['*'],
    SECRET_KEY='of the site',
    ROOT_URLCONF='__main__',
    DATABASES={'default': {'ENGINE': 'django.db.backends.sqlite3', 'NAME': 'site.db'}},
    DEFAULT_AUTO_FIELD='django.db.models.BigAutoField',
    INSTALLED_APPS=[
        'django.contrib.auth',
        'django.contrib.contenttypes',
        'django.contrib.sessions',
        'mozilla_django_oidc',
    ],
    MIDDLEWARE=[
        'django.contrib.sessions.middleware.SessionMiddleware',
        'django.contrib.auth.middleware.AuthenticationMiddleware',
    ],
    **{name: value for name, value in vars(chiron_settings).items() if name.isupper()},
)


def home(request):
    user = request.user
    return HttpResponse(f'Hello {user.get_full_name() if user.is_authenticated else "stranger"}')


urlpatterns = [path('', home), path('oidc/', include('mozilla_django_oidc.urls'))]

if sys.argv[1] == 'runserver':
    execute_from_command_line([sys.argv[0], 'migrate', '--verbosity', '0'])
execute_from_command_line(sys.argv)
