/** Thrown where a rule or an observation lacks what it needs. The message is the reason. */
export class Unseen extends Error {}
