/** Another run is at work on the state. */
export class Busy extends Error {
  override readonly name = 'Busy';
}
