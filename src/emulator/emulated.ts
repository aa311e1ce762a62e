import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject, setOwn } from '../values/json.ts';
import { type BehaviourPatch, type EmulatorBehaviour, emulatorBehaviour } from './behaviour.ts';
import { Faults, type ReceivedRequest } from './faults.ts';
import type { World } from './world.ts';

/** The maximum number of requests to keep in memory, because an emulator may run for days. */
const MAX_REQUESTS = 200_000;

/** The state of a running emulator. Routes must read `behaviour` for each request, because it can change at any time. */
export class Emulated {
  readonly world: World;
  readonly faults = new Faults();
  behaviour: EmulatorBehaviour;
  /** The requests to the API, oldest first. Requests to the dashboard are not recorded. */
  requests: ReceivedRequest[] = [];

  constructor(world: World, behaviour: BehaviourPatch = {}) {
    this.world = world;
    this.behaviour = emulatorBehaviour.parse(behaviour);
  }

  /** Applies a merge patch to the behaviour. Throws a ZodError if the result is invalid. */
  setBehaviour(patch: BehaviourPatch): EmulatorBehaviour {
    this.behaviour = emulatorBehaviour.parse(mergePatch(this.behaviour, patch));
    return this.behaviour;
  }

  note(request: ReceivedRequest): void {
    if (this.requests.length >= MAX_REQUESTS) this.requests = this.requests.slice(MAX_REQUESTS / 2);
    this.requests.push(request);
  }
}

/** The body of a request: none, JSON, or the reason to reject it. */
export type ReceivedBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  | { readonly kind: 'wrong-type' | 'not-json' | 'too-large' };

export interface EmulatorEnv {
  Bindings: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse;
    readonly body: ReceivedBody;
  };
}

/** Applies a JSON merge patch (RFC 7396) and returns the result. Properties that are undefined are ignored. */
export function mergePatch(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) delete merged[key];
    else if (change !== undefined) {
      setOwn(merged, key, mergePatch(Object.hasOwn(merged, key) ? merged[key] : undefined, change));
    }
  }
  return merged;
}
