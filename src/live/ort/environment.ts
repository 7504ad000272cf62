/*
 * Recent builds of onnxruntime for Linux and macOS report to Microsoft over the network, from threads of their own that
 * compete with those that have to be punctual, and keep files for it. ORT_DISABLE_TELEMETRY=1 disables all of that
 * (microsoft/onnxruntime, pull request 27379); another value of the variable is kept.
 *
 * The library reads it when it loads, in the environment of the process, which only the main thread can change: so this
 * is imported wherever threads are started that load it, and before the library itself.
 */
process.env.ORT_DISABLE_TELEMETRY ??= '1';
// An adapter is then the GPU that the driver's tools give the same number.
process.env.CUDA_DEVICE_ORDER ??= 'PCI_BUS_ID';
