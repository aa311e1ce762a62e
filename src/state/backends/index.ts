import type { StateBackend } from './backend.ts';
import { git } from './git/git-backend.ts';
import { http } from './http/http-backend.ts';
import { local } from './local/local-backend.ts';
import { postgres } from './postgres/postgres-backend.ts';

/** Backends by their name in the project file. The first is the default. */
export const backends = { local, git, postgres, http } satisfies Record<string, StateBackend>;
