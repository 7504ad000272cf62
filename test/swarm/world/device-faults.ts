/** What goes wrong with one GPU of a process while it does; stays over restarts of the process. */
export class DeviceFaults {
  /** What begins takes so many times as long. */
  slowness = 1;
  /** So many actions that begin next fail. */
  failNext = 0;
  /** LOADs fail: there is less memory than the worker believes. */
  isOutOfMemory = false;
  /** It is noticed so much later that something has ended. */
  lateByNs = 0;
  private isHanging = false;
  /** Called when it hangs or does so no more. Set by the thread that has the device. */
  changed: () => void = () => {};

  /** Nothing ends until it is false again. */
  get hangs(): boolean {
    return this.isHanging;
  }

  set hangs(hangs: boolean) {
    this.isHanging = hangs;
    this.changed();
  }
}
