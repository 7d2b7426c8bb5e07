"""How migrations run: as the owner, one at a time in the whole database, and never waiting long for a lock.

The advisory lock belongs to the session, so migrations need a direct connection, not a pooler in transaction mode.
"""

from alembic import context
from sqlalchemy import text

from app.config import settings
from app.database import owner_engine
from app.models import Base

ONE_AT_A_TIME = 0x6F6E7573  # "onus": the key of the advisory lock.


def run() -> None:
    engine = owner_engine(settings())
    with engine.connect() as connection:
        connection.execute(text("select pg_advisory_lock(:key)"), {"key": ONE_AT_A_TIME})
        connection.execute(text("set lock_timeout = '15s'"))
        connection.commit()
        context.configure(
            connection=connection, target_metadata=Base.metadata, compare_type=True, transaction_per_migration=True
        )
        with context.begin_transaction():
            context.run_migrations()
    engine.dispose()


run()
