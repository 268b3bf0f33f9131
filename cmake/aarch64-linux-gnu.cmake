# Builds for arm64 with Debian 12's libraries of it, on whatever machine: preset release-arm64.
set(PLUMB_ARCH arm64)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
