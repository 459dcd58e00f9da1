"""The CPU testbed itself: its kernel against torch, and real releases behaving on it as on a GPU."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn.functional import scaled_dot_product_attention  # noqa: E402

from hotfix.proofs.testbed import Testbed, collect  # noqa: E402
from tools.testbed import cpu, kernel, servers, xformers_cpu  # noqa: E402
from tools.testbed.run import ROOT, run, run_many, run_script  # noqa: E402

testbed = pytest.mark.testbed

# -- the kernel ------------------------------------------------------------------------------


def qkv(length_q, length_k, heads=4, heads_kv=2, head_dim=8, batch=2):
    generator = torch.Generator().manual_seed(0)
    shapes = (length_q, heads), (length_k, heads_kv), (length_k, heads_kv)
    return [torch.randn(batch, *shape, head_dim, generator=generator, dtype=torch.float64) for shape in shapes]


def visible(length_q, length_k, causal=False, left=-1, right=-1):
    """The mask, one pair at a time, as the documentation words it."""
    mask = torch.zeros(length_q, length_k, dtype=torch.bool)
    for i in range(length_q):
        for j in range(length_k):
            distance = j - (i + length_k - length_q)
            ahead = distance <= (0 if causal else right) or (right < 0 and not causal)
            behind = left < 0 or distance >= -left
            mask[i, j] = ahead and behind
    return mask


def sdpa(q, k, v, mask, scale):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    out = scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale, enable_gqa=True)
    return out.transpose(1, 2)


@pytest.mark.parametrize("lengths", [(5, 5), (3, 7), (1, 6)])
@pytest.mark.parametrize("window", [{}, {"causal": True}, {"left": 2, "right": 1}, {"causal": True, "left": 2}])
def test_the_kernel_agrees_with_torch_forward_and_backward(lengths, window):
    q, k, v = (x.requires_grad_() for x in qkv(*lengths))
    rule = kernel.Rule(0.3, **window)
    expected = sdpa(q, k, v, visible(*lengths, **window), 0.3)
    out, lse = kernel.forward(q, k, v, rule)
    torch.testing.assert_close(out, expected)
    dout = torch.randn_like(out)
    gradients = kernel.backward(dout, q, k, v, out, lse, rule)[:3]
    for got, wanted in zip(gradients, torch.autograd.grad(expected, (q, k, v), dout)):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("slopes_of_a_batch", [False, True])
def test_soft_cap_and_alibi_agree_with_a_plain_reference_forward_and_backward(slopes_of_a_batch):
    q, k, v = (x.requires_grad_() for x in qkv(4, 6, heads_kv=4))
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625], dtype=torch.float64)
    if slopes_of_a_batch:
        slopes = torch.stack([slopes, 2 * slopes])
    rule = kernel.Rule(0.3, causal=True, softcap=1.5, alibi_slopes=slopes)

    scores = 1.5 * torch.tanh(torch.einsum("bihd,bjhd->bhij", q, k) * 0.3 / 1.5)
    distance = (torch.arange(4)[:, None] + 2 - torch.arange(6)).abs()
    scores = scores - slopes.view(-1, 4, 1, 1) * distance
    scores = scores.masked_fill(~visible(4, 6, causal=True), -math.inf)
    expected = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), v)

    out, lse = kernel.forward(q, k, v, rule)
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(lse, scores.logsumexp(-1))
    dout = torch.randn_like(out)
    gradients = kernel.backward(dout, q, k, v, out, lse, rule)[:3]
    for got, wanted in zip(gradients, torch.autograd.grad(expected, (q, k, v), dout)):
        torch.testing.assert_close(got, wanted)


def test_two_keys_by_hand():
    """Scores log 3 and 0 make weights 3/4 and 1/4."""
    q = torch.ones(1, 1, 1, 1)
    k = torch.tensor([math.log(3.0), 0.0]).view(1, 2, 1, 1)
    v = torch.tensor([8.0, 4.0]).view(1, 2, 1, 1)
    out, lse = kernel.forward(q, k, v, kernel.Rule(1.0))
    assert out.item() == pytest.approx(7.0)
    assert lse.item() == pytest.approx(math.log(4.0))


def test_a_query_that_sees_nothing_gets_zeros_and_no_gradient():
    """Three queries, one key, causal: only the last query, at the bottom right, sees it."""
    q, k, v = qkv(3, 1)
    rule = kernel.Rule(0.3, causal=True)
    out, lse = kernel.forward(q, k, v, rule)
    assert not out[:, :2].any()
    assert torch.equal(out[:, 2], v[:, 0].repeat_interleave(2, dim=1))
    assert lse[..., :2].eq(math.inf).all()
    dq, dk, dv, _ = kernel.backward(torch.ones_like(out), q, k, v, out, lse, rule)
    assert not dq.any()
    assert not dk.any()
    assert torch.equal(dv, torch.full_like(dv, 2.0))


def test_autocast_reaches_neither_the_kernels_nor_the_operator_for_xformers():
    """It reaches no compiled kernel, and their substitutes here are written with operators that it casts."""
    q, k, v = (x.to(torch.bfloat16) for x in qkv(5, 5, heads_kv=4))
    ends = torch.tensor([0, 5, 10], dtype=torch.int32)
    bias = torch.randn(2, 4, 5, 5, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    sides = 0.0, 0.3, True, -1, 0, 0.0  # dropout, scale, causal, left, right, soft cap

    def everything():
        out, lse, *_ = cpu.fwd(q, k, v, None, None, *sides, False, None)
        gradients = [torch.zeros_like(x) for x in (q, k, v)]
        cpu.bwd(out, q, k, v, out, lse, *gradients, None, *sides, False, None, None)
        flat = [x.flatten(0, 1) for x in (q, k, v)]
        packed = None, ends, ends
        flat_out, flat_lse, *_ = cpu.varlen_fwd(
            *flat, *packed, None, None, None, None, 5, 5, *sides[:2], False, *sides[2:], False, None
        )
        flat_gradients = [torch.zeros_like(x) for x in flat]
        cpu.varlen_bwd(
            flat_out, *flat, flat_out, flat_lse, *flat_gradients, ends, ends, None, 5, 5,
            *sides[:2], False, *sides[2:], False, None, None,
        )  # fmt: skip
        biased, biased_lse = xformers_cpu.attend(q, k, v, bias, 0.3)
        biased_gradients = xformers_cpu.gradients(biased, q, k, v, bias, 0.3, biased, biased_lse)
        kept = out, lse, *gradients, flat_out, flat_lse, *flat_gradients, biased, biased_lse, *biased_gradients
        return [x.flatten().float() for x in kept]

    plain = everything()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        under_autocast = everything()
    assert [torch.equal(*pair) for pair in zip(plain, under_autocast)] == [True] * 15


# -- hotfix.proofs.testbed ------------------------------------------------------------------------------


def weights(*names):
    root = torch.nn.Module()
    for name in names:
        module = root
        *path, last = name.split(".")
        for part in path:
            if part not in dict(module.named_children()):
                module.add_module(part, torch.nn.Module())
            module = module.get_submodule(part)
        shape = (8,) if "norm" in name else (8, 4)
        module.register_parameter(last, torch.nn.Parameter(torch.empty(shape)))
    return dict(Testbed("cpu").fill(root).named_parameters())


def test_fill_survives_other_prefixes_order_and_additions():
    old = weights("model.layers.0.q.weight", "model.layers.0.norm.weight", "lm_head.weight")
    new = weights("lm_head.weight", "extra.3.x", "model.text.layers.0.q.weight", "model.text.layers.0.norm.weight")
    assert torch.equal(old["model.layers.0.q.weight"], new["model.text.layers.0.q.weight"])
    assert torch.equal(old["model.layers.0.norm.weight"], new["model.text.layers.0.norm.weight"])
    assert torch.equal(old["lm_head.weight"], new["lm_head.weight"])


def test_fill_gives_each_parameter_its_own_numbers_and_norms_near_one():
    filled = weights("a.0.q.weight", "b.0.q.weight", "a.1.q.weight", "a.0.norm.weight", "a.0.norm.bias")
    first, *others = (filled[name] for name in filled if "norm" not in name)
    assert not any(torch.equal(first, other) for other in others)
    assert filled["a.0.norm.weight"].sub(1).abs().max() < 0.5
    assert filled["a.0.norm.bias"].abs().max() < 0.5


def test_inputs_are_the_same_each_time_and_differ_by_seed():
    testbed = Testbed("cpu")
    assert torch.equal(testbed.randn(3, 4, seed=1), testbed.randn(3, 4, seed=1))
    assert not torch.equal(testbed.randn(3, 4, seed=1), testbed.randn(3, 4, seed=2))
    assert testbed.randn(2, dtype=torch.bfloat16).dtype == torch.bfloat16
    assert set(testbed.randint(5, 7, 50).tolist()) == {5, 6}


def test_collect_detaches_tensors_and_names_other_values():
    weight = torch.ones(2, requires_grad=True)
    assert not collect({"a": weight * 2})["a"].requires_grad
    with pytest.raises(TypeError, match="'b' is int"):
        collect({"b": 3})


def test_assert_flash_fails_where_flash_attn_is_missing():
    with Testbed("cpu") as testbed, pytest.raises(AssertionError, match="flash-attn cannot be imported"):
        testbed.assert_flash()


# -- flash-attn on the testbed -------------------------------------------------------------------


def case_operators(testbed, target):
    """The public functions over the kernel: packed, plain, compiled, and what they refuse."""
    from flash_attn import flash_attn_func, flash_attn_varlen_func

    q, k, v = (
        testbed.randn(2, 6, heads, 16, dtype=torch.bfloat16, seed=seed).requires_grad_()
        for seed, heads in enumerate((4, 2, 2))
    )

    def plain(q, k, v):
        return flash_attn_func(q, k, v, causal=True, window_size=(3, 0))

    def packed(q, k, v):
        ends = torch.tensor([0, 6, 12], dtype=torch.int32)
        flat = (x.flatten(0, 1) for x in (q, k, v))
        out = flash_attn_varlen_func(*flat, ends, ends, 6, 6, causal=True, window_size=(3, 0))
        return out.view_as(q)

    results = {}
    compiled = torch.compile(plain, backend="aot_eager")
    for name, function in ("plain", plain), ("packed", packed), ("compiled", compiled):
        out = function(q, k, v)
        results[name] = torch.cat([out.flatten(), *(g.flatten() for g in torch.autograd.grad(out.sum(), (q, k, v)))])
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = function(q, k, v)
            parts = [out.flatten(), *(g.flatten() for g in torch.autograd.grad(out.sum(), (q, k, v)))]
        results[f"{name} under autocast"] = torch.cat(parts)
    q64, k64, v64 = (x.double() for x in (q, k, v))
    reference = sdpa(q64, k64, v64, visible(6, 6, left=3, right=0), 0.25)
    gradients = torch.autograd.grad(reference.sum(), (q, k, v))
    results["reference"] = torch.cat([reference.flatten(), *(g.flatten() for g in gradients)])

    testbed.assert_flash("flash_attn_func", "flash_attn_varlen_func", "flash_attn_func backward")
    with pytest.raises(RuntimeError, match="only support fp16 and bf16"):
        flash_attn_func(q.float(), k.float(), v.float())
    with pytest.raises(NotImplementedError, match="no dropout"):
        flash_attn_func(q, k, v, dropout_p=0.1)
    return results


@pytest.mark.drawn(4, "long")
@testbed
def test_the_functions_of_flash_attn_run_and_compile_over_the_kernel():
    result = run("tests.tools.test_testbed:case_operators", flash_attn="2.8.3.post2", hotfix=False).require()
    assert result.versions["flash_attn"] == "2.8.3.post2"
    tensors = result.tensors
    reference = tensors.pop("reference")
    assert [name for name, tensor in tensors.items() if not torch.equal(tensor, tensors["plain"])] == []
    torch.testing.assert_close(tensors["plain"].double(), reference, atol=2e-2, rtol=2e-2)


# -- transformers on the testbed -----------------------------------------------------------------


def right_padded_raises(model, ids):
    mask = torch.ones_like(ids)
    mask[0, -4:] = 0
    try:
        model(ids, attention_mask=mask)
    except ValueError as error:
        return "padding_side='right'" in str(error)
    return False


def case_text(testbed, target):
    """Logits of left-padded samples and a gradient, FlashAttention-2 and eager."""
    import transformers

    family = "Qwen2" if hasattr(transformers, "Qwen2Config") else "Llama"
    config = getattr(transformers, f"{family}Config")(
        vocab_size=64, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    cls = getattr(transformers, f"{family}ForCausalLM")
    ids = testbed.randint(0, 64, 2, 9, seed=1)
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    results = {}
    for attn in "flash_attention_2", "eager":
        model = testbed.model(cls, config, attn=attn)
        logits = model(ids, attention_mask=mask).logits[mask.bool()]
        logits.float().square().mean().backward()
        results[attn] = logits
        results[f"{attn} gradient"] = model.model.layers[0].self_attn.q_proj.weight.grad
        if attn == "flash_attention_2":
            results["raises"] = torch.tensor(right_padded_raises(model, ids))
    testbed.assert_flash("flash_attn_varlen_func", "flash_attn_varlen_func backward")
    return results


def relative(got, expected):
    return ((got.float() - expected.float()).norm() / expected.float().norm()).item()


@testbed
@pytest.mark.parametrize(("transformers", "raises"), [("4.36.0", False), ("4.49.0", True), ("5.23.0", False)])
def test_a_model_with_flash_attention_equals_eager(transformers, raises):
    result = run("tests.tools.test_testbed:case_text", transformers=transformers, hotfix=False).require()
    assert result.versions["transformers"] == transformers
    assert result.tensors["raises"].item() is raises  # the real padding check of Qwen2
    assert relative(result.tensors["flash_attention_2"], result.tensors["eager"]) < 1e-2
    flash, eager = (result.tensors[f"{attn} gradient"] for attn in ("flash_attention_2", "eager"))
    assert relative(flash, eager) < 3e-2


def case_vision(testbed, target):
    """A training step of a Qwen2.5-VL in bfloat16 throughout, buffers included."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    config = Qwen2_5_VLConfig(
        vocab_size=128, hidden_size=64, intermediate_size=96, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2,
        rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]},
        vision_start_token_id=100, vision_end_token_id=101, image_token_id=102, video_token_id=103,
        vision_config={
            "depth": 2, "hidden_size": 64, "num_heads": 4, "intermediate_size": 96,
            "out_hidden_size": 64, "patch_size": 4, "window_size": 16, "fullatt_block_indexes": [1],
        },
    )  # fmt: skip
    model = testbed.model(Qwen2_5_VLForConditionalGeneration, config).to(torch.bfloat16)
    ids = testbed.randint(0, 100, 1, 30, seed=1)
    ids[0, 4], ids[0, 5:21], ids[0, 21] = 100, 102, 101
    logits = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values=testbed.randn(64, 96, dtype=torch.bfloat16, seed=2),
        image_grid_thw=torch.tensor([[1, 8, 8]], device=ids.device),
    ).logits
    logits.float().square().mean().backward()
    testbed.assert_flash("apply_rotary_emb", "flash_attn_varlen_func")
    return {"logits": logits, "gradient": model.visual.blocks[0].attn.qkv.weight.grad}


@testbed
def test_the_real_rotary_kernel_crashes_where_it_does_on_a_gpu():
    case = "tests.tools.test_testbed:case_vision"
    crash = run(case, transformers="4.49.0", flash_attn="2.7.4.post1", hotfix=False)
    assert crash.error is not None
    name, message, traceback = crash.error
    assert name == "AssertionError"
    assert "the same dtype" in message
    assert "flash_attn/ops/triton/rotary.py" in traceback

    newer_flash = run(case, transformers="4.49.0", flash_attn="2.8.3.post2", hotfix=False).require()
    newer_model = run(case, transformers="4.50.0", flash_attn="2.7.4.post1", hotfix=False).require()
    assert newer_flash.tensors["gradient"].any()
    for name, tensor in newer_flash.tensors.items():
        assert relative(newer_model.tensors[name], tensor) < 3e-2, name


# -- scripts ---------------------------------------------------------------------------------

SCRIPT = """
import sys
import transformers
from transformers.utils import is_flash_attn_2_available
from transformers.utils.import_utils import is_torch_cuda_available
import torch

def trainer_asks():
    return bool(is_torch_cuda_available()), torch.cuda.is_available(), torch.version.cuda

before = trainer_asks()
config = transformers.LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48,
                                  num_hidden_layers=1, num_attention_heads=2)
config._attn_implementation = "flash_attention_2"
model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
model.generate(torch.arange(1, 7).view(2, 3), max_new_tokens=2, do_sample=False)
print(is_flash_attn_2_available(), before == trainer_asks() == (False, False, None))
print(sys.argv[1:], any("tests" in type(finder).__module__ for finder in sys.meta_path))
"""


@testbed
def test_a_script_runs_with_flash_attention_and_sees_that_cuda_is_missing(tmp_path):
    """5.1.0 caches the answer on its first use."""
    script = tmp_path / "user.py"
    script.write_text(SCRIPT)
    result = run_script(script, ["a"], transformers="5.1.0").require()
    assert result.stdout.splitlines() == ["True True", "['a'] False"]
    assert result.flash_calls["flash_attn_func"] == 2


# -- cases in forks --------------------------------------------------------------------------


def case_looks_around(testbed, target):
    """Prints the imported modules in order, and leaves a file behind."""
    import threading

    names = list(sys.modules)
    place = {name: names.index(name) for name in ("torch", "hotfix.auto", "transformers") if name in names}
    print(
        *sorted(place, key=place.__getitem__), *(name for name in names if ".models." in name and ".modeling_" in name)
    )
    print(os.environ.get("LOOKED_FOR"), file=sys.stderr)
    import transformers.models.llama.modeling_llama  # noqa: F401

    assert threading.active_count() == 1
    assert not hasattr(sys, "left_behind")
    vars(sys)["left_behind"] = True
    return {}


@testbed
@pytest.mark.parametrize("hotfix", [False, True])
def test_a_case_finds_hotfix_before_transformers_and_no_model(hotfix):
    case = "tests.tools.test_testbed:case_looks_around"
    armed = ["hotfix.auto"] if hotfix else []
    for value in "one", "two":
        for _ in range(2):
            result = run(case, hotfix=hotfix, env={"LOOKED_FOR": value}).require()
            assert [word for word in result.stdout.split() if word != "torch"] == [*armed, "transformers"]
            assert result.stderr.splitlines()[-1] == value
            assert (result.report is not None) is hotfix


@testbed
def test_a_fork_and_a_fresh_interpreter_give_the_same():
    case = "tests.tools.test_testbed:case_text"
    forked, fresh = (
        run(case, env={"HOTFIX_ONLY": "fa2-right-padding-check"}, fresh=number) for number in (False, True)
    )
    of_forked, of_fresh = forked.require().report, fresh.require().report
    assert of_forked is not None
    assert of_fresh is not None
    assert of_forked["outcomes"] == of_fresh["outcomes"]
    assert (forked.flash_calls, forked.versions) == (fresh.flash_calls, fresh.versions)
    assert forked.tensors.keys() == fresh.tensors.keys()
    assert [name for name, tensor in forked.tensors.items() if not tensor.equal(fresh.tensors[name])] == []


@testbed
def test_a_target_that_dies_or_hangs_is_distinguished_from_the_others(tmp_path):
    targets = [SimpleNamespace(module=str(tmp_path), qualname=name) for name in ("lives", "dies", "hangs", "never")]
    case = "tests.tools.test_testbed:case_in_its_own_way"
    run(case, hotfix=False, target=targets[0]).require()  # so that the time below is not that of the imports
    results = run_many(case, targets, transformers="4.49.0", hotfix=False, timeout=6)
    assert results[0].require().tensors["lived"]
    died, *late = (result.error or ("", "", "") for result in results[1:])
    assert died[:2] == ("ProcessDied", "return code 3")
    assert [error[0] for error in late] == ["TimeoutExpired", "TimeoutExpired"]
    assert not _is_alive(int((tmp_path / "worker").read_text()))


def case_in_its_own_way(testbed, target):
    if target.qualname == "dies":
        os._exit(3)
    if target.qualname == "hangs":
        worker = subprocess.Popen(["sleep", "60"])
        Path(target.module, "worker").write_text(str(worker.pid))
        time.sleep(60)
    return {"lived": torch.tensor(target.qualname == "lives")}


PARENT = """
import os, sys
from tools.testbed import servers
from tools.testbed.run import run
result = run("tests.tools.test_testbed:case_looks_around", hotfix=False)
assert result.error is None, result.error
[root] = servers._roots._kept.values()
print(root.process.pid, flush=True)
{end}
"""


@testbed
@pytest.mark.parametrize("end", ["", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_nothing_is_left_of_the_servers_however_their_process_ends(end):
    parent = [sys.executable, "-c", PARENT.format(end=end)]
    done = subprocess.run(parent, cwd=ROOT, capture_output=True, text=True, timeout=120)
    root = int(done.stdout)
    for _ in range(50):
        left = [process for process in _processes() if process["session"] == root]
        if not left:
            break
        time.sleep(0.2)
    assert left == []


def _processes():
    """All that run; what only waits for its parent to ask how it ended does not."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, session, *_ = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has just ended
            if state != "Z":
                yield {"pid": int(entry.name), "session": int(session)}


def _is_alive(pid):
    return pid in [process["pid"] for process in _processes()]


def test_the_least_recently_used_is_ended_but_nothing_that_is_in_use():
    class One:
        lost = closed = False

        def close(self):
            self.closed = True

    kept = servers._Kept[Any](2)
    ones = {name: One() for name in "abcd"}

    def use(name):
        return kept.taken(name, lambda: ones[name])

    with use("a"):
        for name in "bc":
            with use(name):
                pass
        assert [name for name in "abc" if ones[name].closed] == ["b"]
        with use("d"):
            assert not ones["a"].closed
    assert [name for name in "abcd" if ones[name].closed] == ["b", "c"]
    ones["a"].lost, old = True, ones["a"]
    ones["a"] = One()
    with use("a") as context:
        assert context is ones["a"] is not old
    kept.close()
    assert all(handle.closed for handle in [*ones.values(), old])


def case_dies(testbed, target):
    os._exit(3)


@testbed
def test_a_child_that_hangs_or_dies_is_reported(tmp_path):
    slow = tmp_path / "slow.py"
    slow.write_text("import time; time.sleep(60)")
    hung = run_script(slow, timeout=1)
    assert hung.error is not None
    assert hung.error[0] == "TimeoutExpired"
    died = run("tests.tools.test_testbed:case_dies", hotfix=False)
    assert died.error is not None
    assert died.error[:2] == ("ProcessDied", "return code 3")


@testbed
def test_variables_of_hotfix_do_not_leak_into_a_child(monkeypatch, tmp_path):
    monkeypatch.setenv("HOTFIX_SKIP", "leaked")
    script = tmp_path / "show.py"
    script.write_text("import os; print(os.environ.get('HOTFIX_SKIP'), os.environ['HOTFIX_ONLY'])")
    assert run_script(script, env={"HOTFIX_ONLY": "x"}).stdout == "None x\n"
