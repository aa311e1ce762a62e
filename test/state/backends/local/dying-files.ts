import { type Files, nodeFiles } from '../../../../src/files/files.ts';

export interface DyingFiles {
  readonly files: Files;
  /** The number of requested operations. */
  readonly count: number;
  readonly died: boolean;
}

/**
 * A file system of a process that dies in its `last`-th operation, counted from 1. That operation and all later ones
 * are not executed, except that a write is half done. Open files are closed, as a system does.
 */
export function dyingFiles(last = Number.POSITIVE_INFINITY): DyingFiles {
  let count = 0;
  let died = false;
  const step = (): void => {
    if (died) throw new Error('the process died before');
    count += 1;
    if (count < last) return;
    died = true;
    throw new Error('the process died');
  };
  const files = new Proxy(
    { ...nodeFiles },
    {
      get(target, name) {
        const operation: unknown = Reflect.get(target, name);
        if (typeof operation !== 'function') return operation;
        return async (...args: unknown[]) => {
          step();
          const result: unknown = await Reflect.apply(operation, target, args);
          return name === 'open' && typeof result === 'object' && result !== null ? dyingHandle(result, step) : result;
        };
      },
    },
  );
  return {
    files,
    get count() {
      return count;
    },
    get died() {
      return died;
    },
  };
}

function dyingHandle(handle: object, step: () => void): object {
  return new Proxy(handle, {
    get(target, name) {
      const operation: unknown = Reflect.get(target, name, target);
      if (typeof operation !== 'function') return operation;
      return async (...args: unknown[]) => {
        if (name === 'close' || name === Symbol.asyncDispose) return Reflect.apply(operation, target, args);
        try {
          step();
        } catch (error) {
          const [bytes, offset, length] = args;
          if (name === 'write' && typeof length === 'number' && error instanceof Error) {
            if (error.message === 'the process died')
              await Reflect.apply(operation, target, [bytes, offset, Math.floor(length / 2)]);
          }
          throw error;
        }
        return Reflect.apply(operation, target, args);
      };
    },
  });
}
