import { azure } from './azure/azure-backend.ts';
import type { StateBackend } from './backend.ts';
import { git } from './git/git-backend.ts';
import { http } from './http/http-backend.ts';
import { local } from './local/local-backend.ts';
import { postgres } from './postgres/postgres-backend.ts';
import { s3 } from './s3/s3-backend.ts';

/** Backends by their name in the project file. The first is the default. */
export const backends = { local, git, postgres, http, s3, azure } satisfies Record<string, StateBackend>;
