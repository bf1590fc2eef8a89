"""Results in a bucket whose server fails."""

import time
from functools import partial

from tests.campaign.check import Violation
from tests.campaign.commands import Running
from tests.campaign.faults import fault
from tests.campaign.scene import BAD_INPUT, DONE, MISSING, Scene
from tests.s3_endpoint import FAULTS, FaultyProxy, endpoint
from tests.sweeps import wait_until

NAME, PREFIX = "campaign", "of/results"


def _in_a_bucket(scene: Scene, retry_s: float) -> FaultyProxy:
    """The scene's results lie there from now on; `retry_s`: for how long commands try a request again."""
    server = scene.closing.enter_context(endpoint())
    proxy = scene.closing.enter_context(FaultyProxy(server.url, delay_s=scene.rng.uniform(0.2, 3)))
    server.make_bucket(NAME)
    scene.where = f"s3://{NAME}/{PREFIX}"
    copies = {"SWEEP_S3_CACHE": str(scene.folder / "copies"), "SWEEP_S3_RETRY_S": str(retry_s)}
    scene.environment = server.environment(proxy.url) | copies
    scene.look = partial(server.mirror, NAME, PREFIX, scene.results)
    return proxy


def _burst(scene: Scene, sweep: Running, proxy: FaultyProxy) -> None:
    """Requests fail for up to 5 s."""
    kinds = scene.rng.sample(FAULTS, scene.rng.randint(1, len(FAULTS)))
    rate, seconds = scene.rng.choice([0.1, 0.3, 0.7, 1.0]), scene.rng.uniform(0.3, 5)
    fail = partial(proxy.fail_at_rate, rate, scene.rng.randrange(1000), kinds)
    scene.strike(sweep, f"for {seconds:.1f} s {rate:.0%} of all requests end in {', '.join(kinds)}", fail)
    wait_until(lambda: not sweep.runs, seconds)


def _tell_harm(scene: Scene, proxy: FaultyProxy) -> None:
    proxy.heal()
    failed = sum(bool(kind) for _, _, kind in proxy.log)
    scene.tell(f"the server is well; {failed} of {len(proxy.log)} requests had failed")


@fault("s3-errors")
def s3_errors(scene: Scene) -> None:
    """Bursts of 500, 503, resets, lost answers, delays and answers cut short, while the results are in a bucket."""
    proxy = _in_a_bucket(scene, retry_s=60)
    sweep = scene.start()
    scene.moment(sweep)
    for _ in range(scene.rng.randint(1, 4)):
        _burst(scene, sweep, proxy)
        proxy.heal()
        time.sleep(scene.rng.uniform(0, 3))
    _tell_harm(scene, proxy)
    scene.finish(sweep, {DONE, BAD_INPUT})


@fault("s3-outage")
def s3_outage(scene: Scene) -> None:
    """The server of the bucket fails until the sweep has given up."""
    proxy = _in_a_bucket(scene, retry_s=8)
    sweep = scene.start()
    scene.moment(sweep)
    kind = scene.rng.choice(["500", "503", "reset", "lost"])
    scene.strike(sweep, f"every request ends in {kind}", lambda: proxy.fail_always(kind))
    scene.finish(sweep, {DONE, MISSING, BAD_INPUT})
    if sweep.code in (MISSING, BAD_INPUT) and scene.where not in sweep.said():
        scene.violations.append(Violation("unreadable", f"{sweep.out.stem} does not say that {scene.where} fails"))
    _tell_harm(scene, proxy)


@fault("s3-kill-driver")
def s3_kill_driver(scene: Scene) -> None:
    """kill -9 of the command while the results are in a bucket, in one of two tries amid errors of its server."""
    proxy = _in_a_bucket(scene, retry_s=20)
    sweep = scene.start()
    scene.moment(sweep)
    if scene.rng.random() < 0.5:
        _burst(scene, sweep, proxy)
    if victim := scene.target(sweep, "driver"):
        scene.strike(sweep, f"kill -9 driver ({victim.pid})", victim.kill)
    _tell_harm(scene, proxy)
    scene.finish(sweep, {-9, DONE, BAD_INPUT})
