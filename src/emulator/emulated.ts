import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject, setOwn } from '../values/json.ts';
import { type BehaviourPatch, type EmulatorBehaviour, emulatorBehaviour } from './behaviour.ts';
import { Faults, type ReceivedRequest } from './faults.ts';
import type { ReceivedBody } from './received-body.ts';
import type { World } from './world.ts';

/** Beyond this the oldest requests are dropped: an emulator may run for days. */
const MOST_KEPT = 200_000;

/** What the routes work on. The behaviour is looked up at each request: it may change between two. */
export class Emulated {
  readonly world: World;
  readonly faults = new Faults();
  behaviour: EmulatorBehaviour;
  /** The requests to the API, oldest first; those to the dashboard are not among them. */
  requests: ReceivedRequest[] = [];

  constructor(world: World, behaviour: BehaviourPatch = {}) {
    this.world = world;
    this.behaviour = emulatorBehaviour.parse(behaviour);
  }

  /** Lays a merge patch over the behaviour; throws a ZodError for one that does not fit. */
  setBehaviour(patch: BehaviourPatch): EmulatorBehaviour {
    this.behaviour = emulatorBehaviour.parse(mergePatch(this.behaviour, patch));
    return this.behaviour;
  }

  note(request: ReceivedRequest): void {
    if (this.requests.length >= MOST_KEPT) this.requests = this.requests.slice(MOST_KEPT / 2);
    this.requests.push(request);
  }
}

export interface EmulatorEnv {
  Bindings: {
    readonly incoming: IncomingMessage;
    readonly outgoing: ServerResponse;
    readonly body: ReceivedBody;
  };
}

/** The value with a JSON merge patch (RFC 7396) laid over it; neither is changed. A key that is undefined is no change. */
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
