"""The Flask extensions, made once and bound to the application by the factory. Imports nothing of ours."""

from flask_login import LoginManager
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from flask_wtf.csrf import CSRFProtect
from htmx_flask import Htmx

db = SQLAlchemy(session_options={"expire_on_commit": False})
migrate = Migrate(compare_type=True, compare_server_default=False)
htmx = Htmx()
login = LoginManager()
csrf = CSRFProtect()
