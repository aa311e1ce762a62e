import type { Emulated } from '../emulated.ts';
import { notFound } from '../refusal.ts';

/** Throws a 404 for a workspace that is not this one. */
export function requireWorkspace({ world }: Emulated, id: string): void {
  if (id !== world.workspaceId) throw notFound('Workspace');
}
