import { CannotEdit } from '../../manifests/editing/change.ts';
import { loadDesired } from '../load-desired.ts';
import { readDeclarations } from '../read-declarations.ts';
import { checkEdits } from './check-edits.ts';
import type { EditPlan, PlanEditsOptions, RefusedEdit, WantedValue } from './edit-plan.ts';
import { EditPlanner, type ProposedEdit } from './edit-planner.ts';

/**
 * The edits that give the manifests the wanted values and change nothing else. Each value is changed in the layer that determines it.
 * Values that cannot be written without side effects are refused by name. Reads files, writes none.
 */
export async function planEdits(options: PlanEditsOptions): Promise<EditPlan> {
  // Called in every run of a loop: without drift, it must not read all manifests again.
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

  /** The units that can be applied together with the accepted ones. If a failure has no single cause, halves are tried. */
  const settle = async (sure: readonly ProposedEdit[], units: readonly Unit[]): Promise<readonly ProposedEdit[]> => {
    const all = [...sure, ...units.flat()];
    const { drafts, problems } = planner.apply(all);
    const wanted = all.map((proposal) => proposal.wanted);
    const wrong = problems.size > 0 ? problems : await checkEdits(options, { wanted, drafts, before });
    if (wrong.size === 0) return all;
    const isUnattributed = problems.size === 0 && wrong.size === all.length;
    if (isUnattributed && units.length > 1) {
      const half = Math.ceil(units.length / 2);
      return settle(await settle(sure, units.slice(0, half)), units.slice(half));
    }
    const isRight = ({ wanted: each }: ProposedEdit): boolean =>
      isUnattributed ? sure.some((one) => one.wanted === each) : !wrong.has(each);
    for (const proposal of all) if (!isRight(proposal)) refuse(proposal.wanted, wrong.get(proposal.wanted) ?? '');
    if (isUnattributed) return sure;
    // Refused values leave their files, so the others are tried again.
    const left = units.map((unit) => unit.filter(isRight)).filter((unit) => unit.length > 0);
    return settle(sure.filter(isRight), left);
  };
  const units = Map.groupBy(proposals, (proposal) => proposal.texts[0]?.absolute ?? proposal).values();
  const { files } = planner.apply(await settle([], [...units]));
  return { files, refused: inOrder(refused, options.wanted) };
}

/** Values of one text file, which can only be written together. */
type Unit = readonly ProposedEdit[];

function inOrder(refused: readonly RefusedEdit[], wanted: readonly WantedValue[]): RefusedEdit[] {
  const places = new Map(wanted.map(({ address, path: leaf }, index) => [`${address} ${leaf}`, index]));
  const place = ({ address, path: leaf }: RefusedEdit): number => places.get(`${address} ${leaf}`) ?? 0;
  return refused.toSorted((a, b) => place(a) - place(b));
}
