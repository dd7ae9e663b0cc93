// Bugs that can be planted, one of each class that the simulation must be able to find. They live in what stands around
// the product, never in it.

export const BUGS = ['lost-ack', 'dropped-event', 'double-install', 'unfenced', 'taken-rows'] as const;
/**
 *   lost-ack        changes are acknowledged before the router has published what they need
 *   dropped-event   an event for a running job is dropped instead of setting it again
 *   double-install  the uninstall before a repeated install is left out
 *   unfenced        neither the cache nor the control schemas look at lease and token
 *   taken-rows      what should take files alone away takes rows along that another target has, too
 */
export type Bug = (typeof BUGS)[number];

export const isBug = (text: string): text is Bug => (BUGS as readonly string[]).includes(text);
