import { UserError } from '../problems/user-error.ts';
import type { Kind } from './kind.ts';

/** @throws UserError for a kind that there is not: a state or a saved plan of a newer version may name one. */
export function kindNamed(kinds: ReadonlyMap<string, Kind>, name: string): Kind {
  const kind = kinds.get(name);
  if (kind !== undefined) return kind;
  throw new UserError(`unknown kind ${name}; this version supports ${[...kinds.keys()].join(', ')}`, {
    hint: 'Use the voxform version that wrote the state or the plan.',
  });
}
