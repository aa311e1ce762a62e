type Variables = Readonly<Record<string, string | undefined>>;

/** Returns the variables without a prototype. Otherwise, `constructor` would look like a variable that is set. */
export function ownVariables(...variables: readonly Variables[]): Variables {
  return Object.assign(Object.create(null) as Variables, ...variables);
}
