import type { StateBackend } from './backend.ts';
import { local } from './local/local-backend.ts';

/** By the name in the project file. The first is the one of a project file that names none. */
export const backends = { local } satisfies Record<string, StateBackend>;
