import type { HostKind } from './code-host.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';

/** Code hosts with pull or merge requests, by their names in settings. */
export const hostKinds = { github, gitlab } satisfies Record<string, HostKind>;

export type HostName = keyof typeof hostKinds;

export const hostNames = Object.keys(hostKinds) as HostName[];
