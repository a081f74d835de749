# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import push

from .publishing import Plan, Push, Pushed, PushSettings, check_redistribution, plan_push, send

__all__ = ["Plan", "Push", "PushSettings", "Pushed", "check_redistribution", "plan_push", "push", "send"]
