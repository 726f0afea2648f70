"""A job: a model on its way through the stages, what was asked for, and the evidence of what was done so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from onnx import ModelProto

from opsetlift.conversion.destination import UnreachableTarget, check_ir_version, check_opsets
from opsetlift.conversion.dtype_policy import KEEP, DtypePolicy, UnusableDtypes
from opsetlift.facts import ModelFacts
from opsetlift.pipeline.dry_run import DryRun
from opsetlift.pipeline.evidence import Converted, Evidence
from opsetlift.pipeline.given import Model
from opsetlift.proof import Certificate, VerdictCache, default_folder
from opsetlift.rulebook.book import RuleBook
from opsetlift.support.arguments import of_kind, opsets_of, truth_value, whole_number, whole_number_or_none
from opsetlift.targets import Target, target_of

if TYPE_CHECKING:
    from opsetlift.normalizer import Pass, PassLike, Shapes


class Files(Protocol):
    """Where a job reads its model, and where it writes the result and the certificate."""

    base_dir: str
    """The folder of the model's external data."""

    def read(self) -> ModelProto:
        """The model. Raises ModelFileError."""
        ...

    def write(self, model: ModelProto, certificate: Certificate | None) -> None:
        """Write the result. Raises ModelFileError."""
        ...


def sizes_of(given: int | Sequence[int]) -> list[int]:
    """The sizes that `fix_shapes` gives for one name, numpy's numbers included."""
    return list(map(int, given)) if isinstance(given, Iterable) else [int(given)]


def is_files(given: object) -> TypeGuard[Files]:
    """Whether a job has files to read from and to write to, and not only a model."""
    # Of the class first: a gs.Graph complains of each attribute that it is asked for in vain.
    return all(hasattr(type(given), name) for name in ("read", "write")) and hasattr(given, "base_dir")


@dataclass(frozen=True)
class Options:
    """What is asked for. `convert` and `normalize` take the same options."""

    opsets: Mapping[str, int] | None = None
    ir: int | None = None
    runtime: Target | None = None
    dtypes: DtypePolicy | None = None
    exact: bool = False
    fix_shapes: Shapes = field(default_factory=dict)
    passes: tuple[Pass, ...] | None = None
    """None where the normaliser is not asked for."""
    size_limit: int | None = None
    prove: bool = True
    require_proof: bool = False
    check: bool = True
    seed: int = 0
    rule_book: RuleBook | None = None
    cache: VerdictCache | None = None
    """The verdicts of earlier runs; None where every site is proven anew."""
    jobs: int = 1
    """How many processes share the proof of a conversion where it takes long."""

    @classmethod
    def of(
        cls,
        *,
        to: int | Mapping[str, int] | None,
        ir: int | None,
        target: str | Target | None,
        dtypes: Mapping[str, str] | None,
        dtype_interface: str = KEEP,
        exact: bool = False,
        fix_shapes: Shapes | None = None,
        passes: Sequence[PassLike] | None = None,
        size_limit: int | None = None,
        prove: bool = True,
        require_proof: bool = False,
        check: bool = True,
        seed: int = 0,
        rule_book: RuleBook | None = None,
        cache: bool = False,
        jobs: int = 1,
    ) -> Options:
        """The options from the arguments of `convert` and `normalize`; `passes` of None asks for none.

        Raises:
            TypeError: An argument is of another type.
            ValueError: A number is too small.
            UnknownPass, UnknownTarget, UnreachableTarget, UnusableDtypes: What is asked for does not exist.
        """
        exact, prove, require_proof, check, cache = (
            truth_value(value, what)
            for value, what in (
                (exact, "exact"),
                (prove, "prove"),
                (require_proof, "require_proof"),
                (check, "check"),
                (cache, "cache"),
            )
        )
        opsets, ir = opsets_of(to), whole_number_or_none(ir, "the IR version")
        limit = whole_number_or_none(size_limit, "the limit of sizes", least=0)
        runtime = None if target is None else target_of(target)
        changes = of_kind(dtypes or {}, Mapping, "dtypes", "a mapping as {'int64': 'int32'}")
        policy = DtypePolicy.of(changes, dtype_interface) if changes else None
        if rule_book is not None:
            of_kind(rule_book, RuleBook, "rule_book", "a RuleBook")
        if dtype_interface != KEEP and policy is None:
            raise UnusableDtypes("dtype_interface needs dtypes")
        if policy is not None and exact:
            raise UnusableDtypes(f"{policy.shown} is never exact, so --exact refuses it")
        check_opsets(opsets or {})
        if ir is not None:
            check_ir_version(ir, runtime)
        return cls(
            opsets=opsets,
            ir=ir,
            runtime=runtime,
            dtypes=policy,
            exact=exact,
            fix_shapes=of_kind(fix_shapes or {}, Mapping, "fix_shapes", "a mapping as {'batch': 1}"),
            passes=_chosen(passes, exact=exact) if passes is not None else None,
            size_limit=limit,
            prove=prove or require_proof,
            require_proof=require_proof,
            check=check,
            seed=whole_number(seed, "the seed", least=0),
            rule_book=rule_book,
            cache=VerdictCache(folder) if cache and (folder := default_folder()) else None,
            jobs=whole_number(jobs, "the number of jobs", least=1),
        )

    @property
    def has_destination(self) -> bool:
        """Whether other opsets, an IR version, a runtime or other dtypes are asked for."""
        return any(one is not None for one in (self.opsets, self.ir, self.runtime, self.dtypes))

    @property
    def fits_a_form(self) -> bool:
        """Whether the result has to fit an IR version or a runtime, whatever passes make of it."""
        return self.ir is not None or self.runtime is not None

    def need_a_destination(self) -> None:
        """Raises UnreachableTarget where there is none."""
        if not self.has_destination:
            raise UnreachableTarget("no destination given: use to, target, ir or dtypes")


def _chosen(passes: Sequence[PassLike], *, exact: bool) -> tuple[Pass, ...]:
    # Imported here: graphsurgeon takes a while, and conversions do without it.
    from opsetlift.normalizer import PassFailed, chosen_passes

    chosen = chosen_passes(passes)
    rounding = next((one for one in chosen if one.ulps), None)
    if exact and rounding is not None:
        raise PassFailed(f"pass {rounding.name} rounds (within {rounding.ulps} ULP), so --exact refuses it")
    return chosen


@dataclass
class Job:
    """One model on its way through the stages."""

    given: Model | Files
    """What was given for the model: itself, its file and so on, or the files of a command."""
    options: Options
    base_dir: str = ""
    """The folder of the model's external data."""
    model: ModelProto = field(default_factory=ModelProto)
    """As the stages so far have left it."""
    source: ModelProto = field(default_factory=ModelProto)
    """As it was read."""
    notes: list[str] = field(default_factory=list)
    """Sentences for the report."""
    evidence: list[Evidence] = field(default_factory=list)
    """What the stages so far have done, in order."""
    certificate: Certificate | None = None
    facts: ModelFacts | None = None
    """What is known of the model that a stage works on; see `facts_of`."""
    give_back: Callable[[ModelProto], Any] | None = None
    """Makes of the result what was given; None where these are the files of a command."""
    dry: DryRun | None = None
    """What dry runs share, where only the answer is needed and not the model; None for a real conversion."""

    def facts_of(self, model: ModelProto) -> ModelFacts:
        """The facts of a model, shared by the stages that it goes through unchanged."""
        if self.facts is None or self.facts.model is not model:
            self.facts = ModelFacts(model, self.base_dir)
        return self.facts

    @property
    def conversion(self) -> Converted:
        """The evidence of the conversion that was just done."""
        last = self.evidence[-1]
        assert isinstance(last, Converted)
        return last
