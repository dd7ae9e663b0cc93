// Whether there is room to write, on all disks that this process writes to.

export interface DiskRoom {
  /** Which disk has no room, in a sentence for people; undefined while all have. Never rejects, and never takes long. */
  lack(): Promise<string | undefined>;
}
