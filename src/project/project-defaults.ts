import path from 'node:path';
import type { Guards, Limits } from './project.ts';

export const defaultManifests: readonly string[] = ['manifests/**/*.{yaml,yml,json}'];
export const defaultLimits: Limits = { concurrency: 16, requestsPerSecond: null, timeoutSeconds: 30 };
export const defaultGuards: Guards = { maxChangedPercent: 50, minResources: 10 };

/** Absolute path of a workspace's state where the project does not say. */
export function defaultStatePath(root: string, workspace: string): string {
  return path.join(root, '.voxform', `${workspace}.state.json`);
}
