import { CannotEdit } from '../../manifests/editing/change.ts';
import { loadDesired } from '../load-desired.ts';
import { readDeclarations } from '../read-declarations.ts';
import { checkEdits } from './check-edits.ts';
import type { EditPlan, PlanEditsOptions, RefusedEdit, WantedValue } from './edit-plan.ts';
import { EditPlanner, type ProposedEdit } from './edit-planner.ts';

/**
 * Returns the edits that set the wanted values in the manifests and change nothing else. Each value is changed in the layer that determines
 * it. Values that cannot be written without side effects are listed as refused. Reads files, but writes none.
 */
export async function planEdits(options: PlanEditsOptions): Promise<EditPlan> {
  // Watch calls this function in every run. Do not read all manifests again if there is no drift.
  if (options.wanted.length === 0) return { files: [], refused: [] };
  const { declarations } = await readDeclarations(options.project, options);
  const planner = new EditPlanner(options, declarations);
  const refused: RefusedEdit[] = [];
  const refuse = ({ address, path: leaf }: WantedValue, why: string): void => {
    refused.push({ address, path: leaf, why });
  };
  const proposals = options.wanted.flatMap((wanted) => {
    try {
      return [planner.propose(wanted)];
    } catch (error) {
      if (!(error instanceof CannotEdit)) throw error;
      refuse(wanted, error.message);
      return [];
    }
  });
  const before = await loadDesired({ ...options, mode: 'offline' });

  /** Returns the accepted proposals and the units that can be added to them. If the cause of a failure is unknown, tries each half. */
  const acceptFrom = async (
    accepted: readonly ProposedEdit[],
    units: readonly Unit[],
  ): Promise<readonly ProposedEdit[]> => {
    const all = [...accepted, ...units.flat()];
    const { drafts, problems } = planner.apply(all);
    const wanted = all.map((proposal) => proposal.wanted);
    const failures = problems.size > 0 ? problems : await checkEdits(options, { wanted, drafts, before });
    if (failures.size === 0) return all;
    const isUnattributed = problems.size === 0 && failures.size === all.length;
    if (isUnattributed && units.length > 1) {
      const half = Math.ceil(units.length / 2);
      return acceptFrom(await acceptFrom(accepted, units.slice(0, half)), units.slice(half));
    }
    const isKept = ({ wanted: each }: ProposedEdit): boolean =>
      isUnattributed ? accepted.some((one) => one.wanted === each) : !failures.has(each);
    for (const proposal of all) if (!isKept(proposal)) refuse(proposal.wanted, failures.get(proposal.wanted) ?? '');
    if (isUnattributed) return accepted;
    // Refused values no longer change their files, so try the others again.
    const remaining = units.map((unit) => unit.filter(isKept)).filter((unit) => unit.length > 0);
    return acceptFrom(accepted.filter(isKept), remaining);
  };
  const units = Map.groupBy(proposals, (proposal) => proposal.texts[0]?.absolute ?? proposal).values();
  const { files } = planner.apply(await acceptFrom([], [...units]));
  return { files, refused: sortRefused(refused, options.wanted) };
}

/** Proposals that must be applied together, because they write the same text file. */
type Unit = readonly ProposedEdit[];

function sortRefused(refused: readonly RefusedEdit[], wanted: readonly WantedValue[]): RefusedEdit[] {
  const positions = new Map(wanted.map(({ address, path: leaf }, index) => [`${address} ${leaf}`, index]));
  const positionOf = ({ address, path: leaf }: RefusedEdit): number => positions.get(`${address} ${leaf}`) ?? 0;
  return refused.toSorted((a, b) => positionOf(a) - positionOf(b));
}
