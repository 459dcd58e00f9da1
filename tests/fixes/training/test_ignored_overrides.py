"""Methods of a subclass of Trainer that a release ignores: when they are called, and with what."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from hotfix.patching import restoring, scope
from hotfix.training import _old_overrides


class Plain:
    def create_scheduler(self, num_training_steps, optimizer):
        return optimizer


class WithDefault:
    def create_scheduler(self, num_training_steps, optimizer=None):
        return len(optimizer.param_groups)


class Tests(WithDefault):
    def create_scheduler(self, num_training_steps, optimizer=None):
        return self.optimizer if optimizer is None else optimizer


class TestsOtherwise(WithDefault):
    def create_scheduler(self, num_training_steps, optimizer=None):
        return optimizer or self.optimizer


class Any:
    def create_scheduler(self, num_training_steps, **kwargs):
        return kwargs


class OtherDefault:
    def create_scheduler(self, num_training_steps, optimizer="main"):
        return optimizer


class ByName:
    def create_scheduler(self, *optimizer):
        return optimizer


@pytest.mark.parametrize(
    ("kind", "needs"),
    [
        (Plain, True),
        (WithDefault, True),
        (Tests, False),
        (TestsOtherwise, False),
        (Any, False),
        (ByName, False),
        (OtherDefault, False),
    ],
)
def test_only_a_parameter_that_is_not_tested_needs_its_value(kind, needs):
    assert _old_overrides.needs(kind().create_scheduler, "optimizer") is needs


class Rotates:
    callback_handler = SimpleNamespace(callbacks=[])

    def _rotate_checkpoints(self):
        return "rotated"


class RotatesItself(Rotates):
    def _save_checkpoint(self):
        self._rotate_checkpoints()


def archive():
    pass


class Archives(Rotates):
    def _rotate_checkpoints(self):
        archive()


class ArchivingCallback:
    def on_save(self):
        archive()


class Callback:
    def on_save(self, trainer):
        trainer._rotate_checkpoints()


class Uploads(Rotates):
    def _rotate_checkpoints(self):
        self.upload()

    def upload(self):
        pass


class UploadsWhatItSaves(Uploads):
    def _save_checkpoint(self):
        self.upload()


class Keeper:
    def flush(self):
        pass


class Keeps(Rotates):
    def __init__(self):
        self.keeper = Keeper()

    def _rotate_checkpoints(self):
        self.keeper.flush()


class KeepingCallback:
    def on_save(self):
        self.theirs.flush()


def is_used_otherwise(trainer, name):
    return _old_overrides.is_used_otherwise("another-fix-of-this-test", trainer, name)


def test_code_that_a_method_uses_is_looked_for_in_other_methods_and_callbacks_and_in_functions_that_run():
    assert not is_used_otherwise(Uploads(), "_rotate_checkpoints")
    assert is_used_otherwise(UploadsWhatItSaves(), "_rotate_checkpoints")
    keeps = Keeps()
    assert not is_used_otherwise(keeps, "_rotate_checkpoints")
    keeps.callback_handler = SimpleNamespace(callbacks=[KeepingCallback()])
    assert is_used_otherwise(keeps, "_rotate_checkpoints")

    def running(trainer):
        answer = is_used_otherwise(trainer, "_rotate_checkpoints")
        trainer.upload()
        return answer

    assert running(Uploads())
    assert not is_used_otherwise(Uploads(), "_rotate_checkpoints")


def test_other_methods_and_callbacks_that_use_the_method_are_seen():
    assert not is_used_otherwise(Rotates(), "_rotate_checkpoints")
    assert is_used_otherwise(RotatesItself(), "_rotate_checkpoints")
    with_callback = Rotates()
    with_callback.callback_handler = SimpleNamespace(callbacks=[Callback()])
    assert is_used_otherwise(with_callback, "_rotate_checkpoints")
    archiving = Archives()
    assert not is_used_otherwise(archiving, "_rotate_checkpoints")
    archiving.callback_handler = SimpleNamespace(callbacks=[ArchivingCallback()])
    assert is_used_otherwise(archiving, "_rotate_checkpoints")


class OfAnotherRelease(Rotates):
    def _rotate_checkpoints(self):
        return self.sharded_ddp


class Wrong(Rotates):
    def _rotate_checkpoints(self):
        raise OSError("the disk is full")


def test_an_override_of_another_release_is_left_to_the_release():
    assert _old_overrides.revived("a-fix-of-this-test", Rotates(), "_rotate_checkpoints")
    assert not _old_overrides.revived("a-fix-of-this-test", OfAnotherRelease(), "_rotate_checkpoints")
    assert "sharded_ddp" in scope.left_alone()["a-fix-of-this-test"]
    assert not _old_overrides.revived("a-fix-of-this-test", Wrong(), "_rotate_checkpoints")


def test_a_name_is_granted_while_such_an_override_runs_and_not_afterwards():
    class Restored:
        name = restoring.Restored("name", value=7, target="a.module:Restored.name")

    def probe():
        try:
            return Restored.name
        except AttributeError:
            return None

    assert probe() is None
    with restoring.granting("a.module:Restored.name"):
        assert probe() == 7
        with restoring.granting("another"):
            assert probe() == 7
    assert probe() is None
