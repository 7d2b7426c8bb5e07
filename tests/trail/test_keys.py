"""The key that signs: made once, for its owner only, and never made again behind anybody's back."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.config import Misconfigured, Settings
from app.trail.keys import kept_key, key_file, new_key, read_key, turn_over


def raw(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes_raw()


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "home" / "trail.key"
    with ThreadPoolExecutor(8) as pool:  # Two starts at once agree on one.
        keys = {raw(key) for key in pool.map(lambda _: kept_key(path), range(8))}
    assert keys == {raw(read_key(path))}
    assert stat.S_IMODE(path.stat().st_mode) == 0o400
    assert [file.name for file in path.parent.iterdir()] == ["trail.key"]


def test_the_setting_names_another_file_which_is_never_made(tmp_path: Path) -> None:
    assert key_file(Settings(home=tmp_path)) == tmp_path / "trail.key"
    chosen = Settings.from_env({"ONUS_HOME": str(tmp_path), "ONUS_TRAIL_KEY": str(tmp_path / "elsewhere.pem")})
    assert key_file(chosen) == tmp_path / "elsewhere.pem"
    with pytest.raises(Misconfigured, match=r"elsewhere\.pem"):
        read_key(key_file(chosen))


def test_what_is_no_ed25519_key_is_refused_without_repeating_it(tmp_path: Path) -> None:
    path = tmp_path / "trail.key"
    path.write_text("my secret")
    with pytest.raises(Misconfigured, match="Ed25519") as refused:
        read_key(path)
    assert "my secret" not in str(refused.value)
    rsa = generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(rsa)
    with pytest.raises(Misconfigured, match="Ed25519"):
        read_key(path)


def test_a_new_key_waits_beside_the_old_one_until_it_takes_over(tmp_path: Path) -> None:
    path = tmp_path / "trail.key"
    old = kept_key(path)
    new = new_key(path)
    assert raw(new_key(path)) == raw(new), "a rotation that was cut off goes on with the same key"
    assert raw(read_key(path)) == raw(old)
    turn_over(path)
    assert raw(read_key(path)) == raw(new)
    assert raw(read_key(path.with_name("trail.key.old"))) == raw(old)
    turn_over(path)
    assert raw(read_key(path)) == raw(new), "nothing waits: nothing is turned over"
