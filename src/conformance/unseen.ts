/** Thrown by whatever cannot get at what a rule looks at. The message is the reason. */
export class Unseen extends Error {}
