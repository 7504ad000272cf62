/** Architectures of `model make`, apart from the code that makes them, so that help and completion do not load it. */
export const ARCHITECTURE_NAMES = ['resnet18', 'resnet50', 'mobilenet-v2', 'mlp', 'encoder'] as const;
export type Architecture = (typeof ARCHITECTURE_NAMES)[number];
