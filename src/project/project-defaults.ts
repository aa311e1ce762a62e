import type { Guards, Limits } from './project.ts';

export const defaultManifests: readonly string[] = ['manifests/**/*.{yaml,yml,json}'];
export const defaultLimits: Limits = { concurrency: 16, requestsPerSecond: null, timeoutSeconds: 30 };
export const defaultGuards: Guards = { maxChangedPercent: 50, minResources: 10 };
