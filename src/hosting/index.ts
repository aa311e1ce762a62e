import type { HostKind } from './code-host.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';

/** The hosts of repositories that requests can be opened on, by what settings call them. */
export const hostKinds = { github, gitlab } satisfies Record<string, HostKind>;

export type HostName = keyof typeof hostKinds;

export const hostNames = Object.keys(hostKinds) as HostName[];
