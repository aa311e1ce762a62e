/** For `await using` with an object that has a method `close`. */
export function closing(resource: { close(): unknown } | undefined): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await resource?.close();
    },
  };
}
