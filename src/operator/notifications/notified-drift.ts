import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { attempt } from '../../problems/attempt.ts';
import type { NotifiedDrift } from './notification-events.ts';

/** Survives a restart of watch, so that no drift is reported twice. Its loss only repeats a message. */
export interface NotifiedDriftStore {
  read(workspaceId: string): NotifiedDrift;
  write(workspaceId: string, told: NotifiedDrift): void;
}

const written = z.record(z.string(), z.string());

/** Keeps one file per workspace. A file that cannot be read or written only causes a repeated message. */
export function notifiedDriftIn(folder: string): NotifiedDriftStore {
  const fileOf = (workspaceId: string) =>
    path.join(folder, `notified-${encodeURIComponent(workspaceId)}.json`);
  return {
    read(workspaceId) {
      return attempt(() => written.parse(JSON.parse(readFileSync(fileOf(workspaceId), 'utf8')))) ?? {};
    },
    write(workspaceId, told) {
      // If it cannot be written, the next watch repeats current drift.
      attempt(() => {
        mkdirSync(folder, { recursive: true });
        writeFileSync(fileOf(workspaceId), JSON.stringify(told));
      });
    },
  };
}
