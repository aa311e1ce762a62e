import type { RunContext } from '../../src/runs/run-context.ts';
import { Redactor } from '../../src/values/redactor.ts';

/** A run context for a folder. It prints nothing. */
export function testContext(cwd: string, more: Partial<RunContext> = {}): RunContext {
  const never = new AbortController().signal;
  return {
    cwd,
    env: { PLATFORM_KEY: 'key-of-the-platform' },
    workspace: undefined,
    log: { warn() {}, info() {}, debug() {} },
    interrupts: { stop: never, requests: never },
    redactor: new Redactor(),
    now: () => new Date(),
    failPoint: undefined,
    ...more,
  };
}
