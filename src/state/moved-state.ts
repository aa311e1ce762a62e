import { z } from 'zod';
import { UserError } from '../problems/user-error.ts';
import type { Immutable } from '../values/json.ts';

/** What stands in the place of a state that was moved. An earlier voxform takes it for a damaged state, and writes nothing either. */
export const movedMark = z.object({
  /** Where the state went, as messages call it. */
  moved_to: z.string().min(1),
  /** ISO 8601. */
  moved_at: z.string(),
  lineage: z.string().min(1),
  /** Of the last document that stood here. */
  serial: z.int().min(0),
  workspace_id: z.string().min(1),
});

export type MovedMark = Immutable<z.infer<typeof movedMark>>;

/** The state is no longer kept here. */
export class MovedState extends UserError {
  override readonly name = 'MovedState';
  readonly mark: MovedMark;

  /** @param name how messages call the old place, e.g. its path. */
  constructor(name: string, mark: MovedMark) {
    const { moved_to: to } = mark;
    // What is no path is said in settings, which a mark does not hold.
    const isPath = !/[ :]/.test(to);
    super(`the state ${name} was moved to ${mark.moved_to} on ${mark.moved_at}`, {
      hint: `Point \`state\` of the workspace in voxform.yaml at ${to}.`,
      next: [{ action: 'move_state', from: isPath ? to : "'{ backend: BACKEND, … }'" }],
    });
    this.mark = mark;
  }
}
