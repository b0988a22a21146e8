[package]
name = "konfig"
version = "0.1.0"
description = "Platform models: what an application developer writes, and the Kubernetes objects it means."
