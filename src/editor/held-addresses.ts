import type { Address } from '../manifests/resource.ts';
import type { ProjectConfig } from '../project/project.ts';
import { readState } from '../state/session.ts';
import { backendOf, createStore } from '../state/state-place.ts';
import { VERSION } from '../version.ts';

/** The addresses under which states have records. */
export interface HeldAddresses {
  /** With a workspace that holds it. */
  readonly workspaces: ReadonlyMap<Address, string>;
  /** False where some state is kept elsewhere, or cannot be read. */
  readonly isComplete: boolean;
}

/** What the states on this machine have; no other one is asked. */
export async function heldAddresses({ root, workspaces }: ProjectConfig): Promise<HeldAddresses> {
  const held = new Map<Address, string>();
  let isComplete = true;
  for (const { name, state: place, workspaceId } of Object.values(workspaces)) {
    if (backendOf(place).fileOf(place) === undefined) {
      isComplete = false;
      continue;
    }
    const now = () => new Date();
    const user = { root, host: '', user: '', pid: process.pid, version: VERSION, now, failPoint: undefined };
    try {
      const state = await readState(createStore(place, user), {
        workspaceId,
        fresh: { lineage: '', salt: '' },
      });
      for (const address of [...state.resources.keys(), ...state.pending.keys()]) held.set(address, name);
    } catch {
      isComplete = false;
    }
  }
  return { workspaces: held, isComplete };
}
