import { notFound } from '../refusal.ts';
import type { Service } from '../service.ts';

/** Throws a 404 for a workspace that is not this one. */
export function requireWorkspace({ world }: Service, id: string): void {
  if (id !== world.workspaceId) throw notFound('Workspace');
}
