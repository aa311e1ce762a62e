/** Makes an object with a `close` method usable with `await using`. */
export function closing(resource: { close(): unknown } | undefined): AsyncDisposable {
  return {
    async [Symbol.asyncDispose]() {
      await resource?.close();
    },
  };
}
